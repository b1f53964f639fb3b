"""Reports: tables, figures and an HTML page, from gold tables and experiment results."""

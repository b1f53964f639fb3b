"""Tables, figures and one HTML page, from gold tables and results."""

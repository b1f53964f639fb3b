"""The tables that an experiment's file is made of."""

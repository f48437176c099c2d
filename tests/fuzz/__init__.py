"""Requests and inputs nobody would write by hand: drawn from the document, or by coverage."""

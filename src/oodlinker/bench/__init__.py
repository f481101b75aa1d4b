"""Run folders and worlds in, tables and pages out."""

"""What the numbers say: reports, figures and pages."""

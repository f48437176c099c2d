"""What is generated, and how the machine is prepared."""

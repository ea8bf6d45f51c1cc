"""What is trained and compared."""

"""What the paper claims, held against what was measured and against the paper itself."""

"""The paper's claims, judged by the measured results and by the paper itself."""

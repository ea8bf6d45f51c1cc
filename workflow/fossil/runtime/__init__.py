"""Jobs and their records: logs, files, failures, locks, queue and provenance."""

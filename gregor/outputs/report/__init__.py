"""What came of a crawl: summary.json for programs, report.html for people, both made from the log alone, never from the state."""

"""Grafana for docker-compose.yml: the dashboard, and where Grafana finds it."""

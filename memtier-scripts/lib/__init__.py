"""What the scripts share: servers.py starts servers and talks to them, tools.py sends a load, report.py shows what came of it, run.py does all of it."""

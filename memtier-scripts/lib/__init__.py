"""What the scripts share: settings.py reads the environment, servers.py starts servers and talks to them, tools.py sends a load, report.py shows what came of it, run.py does all of it."""

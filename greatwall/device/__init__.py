"""What is played on. Every device is a `contracts.Device`; nothing above can tell which it is."""

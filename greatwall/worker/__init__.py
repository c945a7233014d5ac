"""The Worker's parts: clocks, drivers, the newest frame, the death watch, restart clicks, windows."""

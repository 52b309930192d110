"""The panes, one file each. A pane draws from (timeline, cursor) and knows neither who is running nor the other panes."""

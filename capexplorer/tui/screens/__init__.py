"""The screens, and what is shown above their panes."""

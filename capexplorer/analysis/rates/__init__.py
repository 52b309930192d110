"""The capacity as an offered rate, from levels of offered rates. They never share a curve with levels of users (`knee`)."""

"""Pure: levels of offered rates to the capacity as a rate. Levels of users are judged elsewhere: they never share a curve."""

"""From curl commands, HAR files and OpenAPI files to the text of a profile. Reads files, sends nothing."""

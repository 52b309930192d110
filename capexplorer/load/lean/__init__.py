"""A client that spends as little CPU per request as Python allows: HTTP/1.1 over gevent's sockets and llhttp's parser.

Not an HTTP library: a request is bytes that were prepared once, a reply is framed by the parser of geventhttpclient, and its
headers are parsed only if user code asks for them. There is no proxy, and no request is repeated.
"""

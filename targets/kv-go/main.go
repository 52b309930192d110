// Command kv-go is a key-value store over HTTP whose locking, counting and logging are chosen when it starts, so that what they
// cost shows in a capacity curve. One request makes a burst of operations: a single one cannot be seen through HTTP.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
)

func main() {
	port := flag.Int("port", 0, "on 127.0.0.1")
	store := flag.String("store", "rwmutex", "plain, mutex, rwmutex or syncmap")
	counter := flag.String("counter", "atomic", "plain or atomic")
	logging := flag.String("log", "off", "off, unbuffered or buffered")
	procs := flag.Int("procs", 0, "GOMAXPROCS; 0: all cores")
	burst := flag.Int("burst", 1000, "operations that one request makes")
	flag.Parse()
	if *procs > 0 {
		runtime.GOMAXPROCS(*procs)
	}
	service := &Service{
		store:    chosen("store", *store, stores)(),
		counter:  chosen("counter", *counter, counters)(),
		logger:   chosen("log", *logging, loggers)(),
		burst:    *burst,
		instance: strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(startedAt, 36),
	}
	service.fill()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		quit(err.Error())
	}
	fmt.Printf("kv-go: %s on %d of %d cores\n", runtime.Version(), runtime.GOMAXPROCS(0), runtime.NumCPU())
	quit(http.Serve(listener, service.routes()).Error())
}

func chosen[T any](name, value string, known map[string]T) T {
	made, ok := known[value]
	if !ok {
		quit(fmt.Sprintf("-%s: unknown value %q", name, value))
	}
	return made
}

func quit(why string) {
	fmt.Fprintln(os.Stderr, "kv-go:", why)
	os.Exit(1)
}

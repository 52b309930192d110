// k requests at a time, each for s with one of so many connections; the others wait for a token, then for a connection.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	workers, _ := strconv.Atoi(os.Getenv("WORKERS"))
	seconds, _ := strconv.ParseFloat(os.Getenv("SLEEP_S"), 64)
	connections, _ := strconv.Atoi(os.Getenv("CONNECTIONS"))
	tokens, pool := make(chan struct{}, workers), make(chan struct{}, connections)
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	http.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		tokens <- struct{}{}
		pool <- struct{}{}
		time.Sleep(time.Duration(seconds * float64(time.Second)))
		<-pool
		<-tokens
		fmt.Fprintln(w, "slept")
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// k requests at a time, each for s; the others wait for a token.
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
	tokens := make(chan struct{}, workers)
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	http.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		tokens <- struct{}{}
		time.Sleep(time.Duration(seconds * float64(time.Second)))
		<-tokens
		fmt.Fprintln(w, "slept")
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

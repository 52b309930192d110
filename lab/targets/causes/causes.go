// The service in Go: a mutex, a channel of tokens, or a rate limit.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const burst = 6

var (
	lock     sync.Mutex
	released time.Time
)

func hold(seconds float64) {
	time.Sleep(time.Duration(seconds * (0.5 + rand.Float64()) * float64(time.Second)))
}

func delay(gap time.Duration) {
	lock.Lock()
	now := time.Now()
	earliest := now.Add(-(burst - 1) * gap)
	if released.Before(earliest) {
		released = earliest
	}
	wait := released.Sub(now)
	released = released.Add(gap)
	lock.Unlock()
	time.Sleep(wait)
}

func main() {
	cause := os.Getenv("CAUSE")
	slots, _ := strconv.Atoi(os.Getenv("POOL"))
	rate, _ := strconv.ParseFloat(os.Getenv("RATE"), 64)
	pool := make(chan struct{}, slots)
	holds := map[string]map[string]float64{
		"lock": {"/a": 0.02, "/b": 0.008}, "pool": {"/a": 0.08, "/b": 0.032}, "rate_limit": {"/a": 0.004, "/b": 0.002},
	}[cause]
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if seconds, known := holds[r.URL.Path]; known {
			switch cause {
			case "lock":
				lock.Lock()
				hold(seconds)
				lock.Unlock()
			case "pool":
				pool <- struct{}{}
				hold(seconds)
				<-pool
			case "rate_limit":
				delay(time.Duration(float64(time.Second) / rate))
				hold(seconds)
			}
		}
		fmt.Fprintln(w, "ok")
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A pool with its variables (expvar), beside variables that have nothing to do with it, and a log.
package main

import (
	"expvar"
	"fmt"
	"log"
	"math"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"
)

const late, giveUp = 100 * time.Millisecond, 500 * time.Millisecond

var (
	waiting  = expvar.NewInt("pool.waiting")
	inUse    = expvar.NewInt("pool.in_use")
	timeouts = expvar.NewInt("pool.timeouts")
	requests = expvar.NewInt("requests")
	entries  = expvar.NewFloat("cache.entries")
	mood     = expvar.NewFloat("mood")
	ticks    = expvar.NewInt("ticks")
)

func main() {
	connections, _ := strconv.Atoi(os.Getenv("CONNECTIONS"))
	seconds, _ := strconv.ParseFloat(os.Getenv("WORK_S"), 64)
	work, free := time.Duration(seconds*float64(time.Second)), make(chan struct{}, connections)
	go beat()
	http.Handle("/metrics", expvar.Handler())
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	http.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		began := time.Now()
		waiting.Add(1)
		select {
		case free <- struct{}{}:
			waiting.Add(-1)
		case <-time.After(giveUp):
			waiting.Add(-1)
			timeouts.Add(1)
			panic(fmt.Sprintf("no connection of %d within %v", connections, giveUp))
		}
		if waited := time.Since(began); waited > late {
			log.Printf("request %x waited %d ms for a connection", rand.Int63(), waited.Milliseconds())
		}
		inUse.Add(1)
		time.Sleep(work)
		inUse.Add(-1)
		<-free
		fmt.Fprintln(w, "done")
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

// What has nothing to do with the load.
func beat() {
	began := time.Now()
	for value := 100.0; ; value += rand.NormFloat64() {
		mood.Set(value)
		entries.Set(1000 * (1 - math.Pow(0.99, time.Since(began).Seconds())))
		ticks.Add(1)
		if rand.Float64() < 0.02 {
			log.Printf("checkpoint %d written", rand.Intn(1000000))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

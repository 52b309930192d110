// A service whose requests do some work, and wait for one cause that is planted between two comments: serve CAUSE PORT.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	_ "net/http/pprof"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var visits sync.Mutex
var slots = make(chan struct{}, 3)
var count int

func authenticate(token string) int {
	time.Sleep(2 * time.Millisecond) // another service
	sum := 0
	for _, letter := range token {
		sum += int(letter)
	}
	return sum
}

// planted mutex
func countVisit() {
	visits.Lock()
	defer visits.Unlock()
	time.Sleep(8 * time.Millisecond)
	count++
}

// end

// planted channel
func acquire() {
	slots <- struct{}{}
}

// end

func query() {
	acquire()
	time.Sleep(20 * time.Millisecond)
	<-slots
}

type node struct {
	left, right *node
	words       []string
}

// planted garbage
func tree(depth int) *node {
	if depth == 0 {
		return &node{words: strings.Fields("what a service makes for each request and never needs again")}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

// end

func report() {
	if tree(13) == nil {
		panic("no tree")
	}
}

var prices sync.RWMutex
var ready = sync.NewCond(&sync.Mutex{})
var inside int

// planted readers
func lookUp() {
	prices.Lock()
	time.Sleep(6 * time.Millisecond)
	prices.Unlock()
}

// end

// planted condition
func enter() {
	ready.L.Lock()
	for inside == 2 {
		ready.Wait()
	}
	inside++
	ready.L.Unlock()
}

// end

func transform() {
	enter()
	time.Sleep(15 * time.Millisecond)
	ready.L.Lock()
	inside--
	ready.L.Unlock()
	ready.Signal()
}

// planted hash
func digest() {
	sum := []byte("password")
	for round := 0; round < 20000; round++ {
		next := sha256.Sum256(sum)
		sum = next[:]
	}
}

// end

var tokens = make(chan struct{}, 5)

func fill() {
	for range time.Tick(9 * time.Millisecond) {
		select {
		case tokens <- struct{}{}:
		default:
		}
	}
}

// planted tokens
func allowed() {
	<-tokens
}

// end

var catalogue = strings.Repeat(`{"name":"item","prices":[1,2,3,5,8],"note":"a line of text"},`, 3600)

// planted json
func decode() {
	var found []map[string]any
	if err := json.Unmarshal([]byte("["+strings.TrimSuffix(catalogue, ",")+"]"), &found); err != nil {
		panic(err)
	}
}

// end

func main() {
	go fill()
	act := map[string]func(){"mutex": countVisit, "channel": query, "garbage": report, "readers": lookUp, "condition": transform, "hash": digest, "tokens": allowed, "json": decode}[os.Args[1]]
	http.HandleFunc("/health", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("ok\n")) })
	http.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		sum := authenticate(r.UserAgent())
		act()
		json.NewEncoder(w).Encode(map[string]string{"sum": strconv.Itoa(sum)})
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[2], nil); err != nil {
		panic(err)
	}
}

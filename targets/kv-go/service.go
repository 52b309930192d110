package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

// Keys are there from the start, so that no reader meets an empty store.
const Keys = 1000

var startedAt = time.Now().UnixNano()

// Service is what the endpoints share.
type Service struct {
	store    Store
	counter  Counter
	logger   Logger
	burst    int
	instance string // tells a client that the service was restarted, and its counter with it

	gets, posts, increments atomic.Int64 // requests, not operations
}

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/get", only(http.MethodGet, s.get))
	mux.HandleFunc("/post", only(http.MethodPost, s.post))
	mux.HandleFunc("/increment", only(http.MethodPost, s.increment))
	mux.HandleFunc("/counter", only(http.MethodGet, s.readCounter))
	mux.HandleFunc("/metrics", only(http.MethodGet, s.metrics))
	mux.HandleFunc("/health", only(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"status": "ok"})
	}))
	mux.HandleFunc("/debug/pprof/", pprof.Index) // Go's own: stacks by `run --profile-at knee`
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	return mux
}

func (s *Service) fill() {
	for number := 0; number < Keys; number++ {
		s.store.Put("key-"+strconv.Itoa(number), "value-"+strconv.Itoa(number))
	}
}

// get reads a burst of keys, the one asked for first.
func (s *Service) get(w http.ResponseWriter, r *http.Request) {
	s.gets.Add(1)
	key := r.URL.Query().Get("key")
	value, found := s.store.Get(key)
	s.logger.Log("get", key)
	for operation := 1; operation < s.burst; operation++ {
		other := nth(operation)
		s.store.Get(other)
		s.logger.Log("get", other)
	}
	if !found {
		answer(w, http.StatusNotFound, map[string]any{"error": fmt.Sprintf("no key %q", key)})
		return
	}
	answer(w, http.StatusOK, map[string]any{"key": key, "value": value})
}

// post writes a burst of keys, the one given first; the others get the same value.
func (s *Service) post(w http.ResponseWriter, r *http.Request) {
	s.posts.Add(1)
	var pair struct{ Key, Value *string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&pair)
	if err != nil || pair.Key == nil || pair.Value == nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": `expected {"key": TEXT, "value": TEXT}`})
		return
	}
	s.store.Put(*pair.Key, *pair.Value)
	s.logger.Log("post", *pair.Key)
	for operation := 1; operation < s.burst; operation++ {
		other := nth(operation)
		s.store.Put(other, *pair.Value)
		s.logger.Log("post", other)
	}
	answer(w, http.StatusOK, map[string]any{"key": *pair.Key, "value": *pair.Value})
}

// increment adds one, a burst of times.
func (s *Service) increment(w http.ResponseWriter, _ *http.Request) {
	s.increments.Add(1)
	for operation := 0; operation < s.burst; operation++ {
		s.counter.Increment()
	}
	answer(w, http.StatusOK, map[string]any{"added": s.burst, "instance": s.instance})
}

func (s *Service) readCounter(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"counter": s.counter.Read(), "instance": s.instance})
}

func (s *Service) metrics(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"gets": s.gets.Load(), "posts": s.posts.Load(), "increments": s.increments.Load(), "counter": s.counter.Read(),
		"goroutines": runtime.NumGoroutine(), "procs": runtime.GOMAXPROCS(0),
	})
}

var names = func() (all [Keys]string) {
	for number := range all {
		all[number] = "key-" + strconv.Itoa(number)
	}
	return all
}()

// nth names the key of an operation without making a string: what is measured is the store.
func nth(operation int) string {
	return names[operation%Keys]
}

func only(method string, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			answer(w, http.StatusMethodNotAllowed, map[string]any{"error": "expected " + method})
			return
		}
		handle(w, r)
	}
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have hung up
}

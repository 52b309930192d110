package main

import "sync"

// Store keeps values by key. All but the plain one may be used by any number of goroutines.
type Store interface {
	Get(key string) (string, bool)
	Put(key, value string)
}

var stores = map[string]func() Store{
	"plain":   func() Store { return plain{} },
	"mutex":   func() Store { return &locked{values: plain{}} },
	"rwmutex": func() Store { return &readWriteLocked{values: plain{}} },
	"syncmap": func() Store { return &syncMap{} },
}

// plain is a map and nothing else. Under load Go stops the process: "fatal error: concurrent map writes" (or "... map read and
// map write"). That is what it is for.
type plain map[string]string

func (p plain) Get(key string) (string, bool) {
	value, found := p[key]
	return value, found
}

func (p plain) Put(key, value string) { p[key] = value }

type locked struct {
	lock   sync.Mutex
	values plain
}

func (l *locked) Get(key string) (string, bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.values.Get(key)
}

func (l *locked) Put(key, value string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.values.Put(key, value)
}

type readWriteLocked struct {
	lock   sync.RWMutex
	values plain
}

func (l *readWriteLocked) Get(key string) (string, bool) {
	l.lock.RLock()
	defer l.lock.RUnlock()
	return l.values.Get(key)
}

func (l *readWriteLocked) Put(key, value string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.values.Put(key, value)
}

type syncMap struct{ values sync.Map }

func (m *syncMap) Get(key string) (string, bool) {
	value, found := m.values.Load(key)
	if !found {
		return "", false
	}
	return value.(string), true
}

func (m *syncMap) Put(key, value string) { m.values.Store(key, value) }

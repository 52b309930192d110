package main

import "sync/atomic"

// Counter counts. The plain one loses increments that happen at the same time; that is what it is for.
type Counter interface {
	Increment()
	Read() int64
}

var counters = map[string]func() Counter{
	"plain":  func() Counter { return &plainCounter{} },
	"atomic": func() Counter { return &atomicCounter{} },
}

type plainCounter struct{ count int64 }

func (c *plainCounter) Increment()  { c.count++ }
func (c *plainCounter) Read() int64 { return c.count }

type atomicCounter struct{ count atomic.Int64 }

func (c *atomicCounter) Increment()  { c.count.Add(1) }
func (c *atomicCounter) Read() int64 { return c.count.Load() }

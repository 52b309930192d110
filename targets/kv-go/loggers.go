package main

import (
	"bufio"
	"io"
	"log"
	"os"
	"sync"
	"time"
)

// LogLimitBytes is where the log begins anew: it is written for what writing costs, not to be read.
const LogLimitBytes = 64 << 20

// BufferBytes is what the buffered log gathers before it writes.
const BufferBytes = 64 << 10

// Logger tells operations, a line each.
type Logger interface {
	Log(operation, key string)
}

var loggers = map[string]func() Logger{
	"off":        func() Logger { return silent{} },
	"unbuffered": func() Logger { return lines{log.New(newLogFile(), "", log.LstdFlags)} },
	"buffered":   func() Logger { return lines{log.New(newBuffer(newLogFile()), "", log.LstdFlags)} },
}

type silent struct{}

func (silent) Log(string, string) {}

type lines struct{ logger *log.Logger }

func (l lines) Log(operation, key string) { l.logger.Println(operation, key) }

// buffer is flushed every second, so it needs a lock beside the one that log.Logger has.
type buffer struct {
	lock   sync.Mutex
	writer *bufio.Writer
}

func newBuffer(file io.Writer) *buffer {
	made := &buffer{writer: bufio.NewWriterSize(file, BufferBytes)}
	go func() {
		for range time.Tick(time.Second) {
			made.lock.Lock()
			_ = made.writer.Flush()
			made.lock.Unlock()
		}
	}()
	return made
}

func (b *buffer) Write(line []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.writer.Write(line)
}

// logFile is a temporary file without a name, so that nothing is left of it however the process ends.
type logFile struct {
	file *os.File
	size int
}

func newLogFile() *logFile {
	file, err := os.CreateTemp("", "kv-go-*.log")
	if err != nil {
		quit(err.Error())
	}
	_ = os.Remove(file.Name())
	return &logFile{file: file}
}

func (l *logFile) Write(bytes []byte) (int, error) {
	if l.size > LogLimitBytes {
		_ = l.file.Truncate(0)
		_, _ = l.file.Seek(0, io.SeekStart)
		l.size = 0
	}
	l.size += len(bytes)
	return l.file.Write(bytes)
}

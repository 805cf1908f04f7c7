// SPDX-License-Identifier: MIT
// test/peers/go/side/side.go - the line protocol of ../../PROTOCOL.md around one lock library, for
// the programs of this folder and of ../../etcd.
package side

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const nap = 5 * time.Millisecond

var (
	ErrBusy = errors.New("busy")
	ErrLost = errors.New("lost")
)

// Release gives back what is held: ErrLost where it was over.
type Release func(ctx context.Context) error

// Library is one attempt without waiting, or the library's own waiting: ErrBusy where another
// client has the lock.
type Library interface {
	Try(ctx context.Context, name string, lease time.Duration, waits bool) (Release, error)
}

// Looker looks at a lock on the server.
type Looker interface {
	Locked(name string) (int64, error)
	LeftMs(name string) (int64, error)
}

// A worker: one goroutine, and what it holds by name, the newest last.
type worker struct {
	lib       Library
	isShipped bool
	looker    Looker
	held      map[string][]Release
}

func (w *worker) lock(name, wait, lease string) string {
	ms, err := strconv.Atoi(lease)
	if err != nil {
		return "unsupported"
	}
	end := time.Now().Add(time.Hour)
	if n, err := strconv.Atoi(wait); err == nil {
		end = time.Now().Add(time.Duration(n) * time.Millisecond)
	}
	for {
		back, err := w.lib.Try(context.Background(), name, time.Duration(ms)*time.Millisecond,
			w.isShipped && wait == "-")
		if err == nil {
			w.held[name] = append(w.held[name], back)
			return "ok"
		}
		if !errors.Is(err, ErrBusy) {
			return "error " + err.Error()
		}
		if wait == "0" {
			return "busy"
		}
		if time.Now().After(end) {
			return "timeout"
		}
		time.Sleep(nap)
	}
}

func (w *worker) unlock(name string) string {
	mine := w.held[name]
	if len(mine) == 0 {
		return "lost"
	}
	w.held[name] = mine[:len(mine)-1]
	err := mine[len(mine)-1](context.Background())
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrLost):
		return "lost"
	default:
		return "error " + err.Error()
	}
}

func count(file *os.File) error {
	var bytes [8]byte
	if _, err := file.ReadAt(bytes[:], 0); err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(bytes[:], binary.LittleEndian.Uint64(bytes[:])+1)
	_, err := file.WriteAt(bytes[:], 0)
	return err
}

func (w *worker) cycles(name, times, lease, counter, records string, inside time.Duration) string {
	file, err := os.OpenFile(counter, os.O_RDWR, 0)
	if err != nil {
		return "error " + err.Error()
	}
	defer file.Close()
	n, _ := strconv.Atoi(times)
	lost := 0
	var enter, leave int64
	var lines strings.Builder
	for i := 0; i < n; i++ {
		if got := w.lock(name, "-", lease); got != "ok" {
			return fmt.Sprintf("error cycle %d: %s", i, got)
		}
		enter = now()
		if err := count(file); err != nil {
			return "error " + err.Error()
		}
		time.Sleep(inside)
		leave = now()
		fmt.Fprintf(&lines, "%d %d\n", enter, leave)
		if w.unlock(name) != "ok" {
			lost++
		}
	}
	if records == "-" {
		return fmt.Sprintf("ok %d %d %d %d", n, lost, enter, leave)
	}
	if err := os.WriteFile(records, []byte(lines.String()), 0o600); err != nil {
		return "error " + err.Error()
	}
	return fmt.Sprintf("ok %d %d", n, lost)
}

func number(n int64, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return fmt.Sprintf("ok %d", n)
}

func (w *worker) run(words []string) string {
	if len(words) < 3 || words[1] != "lock" && words[1] != "redlock" {
		return "unsupported"
	}
	switch {
	case words[0] == "lock" && len(words) == 5:
		return w.lock(words[2], words[3], words[4])
	case words[0] == "unlock":
		return w.unlock(words[2])
	case words[0] == "locked" && w.looker != nil:
		return number(w.looker.Locked(words[2]))
	case words[0] == "ttl" && w.looker != nil:
		return number(w.looker.LeftMs(words[2]))
	case words[0] == "cycles" && len(words) >= 7:
		inside := 0
		if len(words) > 7 {
			inside, _ = strconv.Atoi(words[7])
		}
		return w.cycles(words[2], words[3], words[4], words[5], words[6],
			time.Duration(inside)*time.Millisecond)
	}
	return "unsupported"
}

// Go's own monotonic clock cannot be read as a number.
func now() int64 {
	const monotonic = 1
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// Version is that of a module of this program.
func Version(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "?"
}

// Of the words of a line: none holds a blank but as %20.
func wordsOf(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		if plain, err := url.PathUnescape(word); err == nil {
			words[i] = plain
		}
	}
	return words
}

// Refuse ends a program that cannot take part.
func Refuse(why any) {
	fmt.Println("no", why)
	os.Exit(1)
}

// Serve answers the lines of standard input. Each worker gets a library by `begin`; `looker` may be nil.
func Serve(begin func() (Library, error), isShipped bool, looker Looker) {
	var out sync.Mutex
	workers := map[string]chan []string{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := wordsOf(lines.Text())
		number := words[0]
		if workers[number] == nil {
			orders := make(chan []string, 64)
			workers[number] = orders
			go func() {
				lib, err := begin()
				w := &worker{lib, isShipped, looker, map[string][]Release{}}
				for order := range orders {
					answer := ""
					if err != nil {
						answer = "error " + err.Error()
					} else {
						answer = w.run(order)
					}
					at := now()
					out.Lock()
					fmt.Println(number, at, strings.ReplaceAll(answer, "\n", " "))
					out.Unlock()
				}
			}()
		}
		workers[number] <- words[1:]
	}
}

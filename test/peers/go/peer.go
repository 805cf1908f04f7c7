// SPDX-License-Identifier: MIT
// test/peers/go/peer.go - redsync and bsm/redislock behind the line protocol of ../PROTOCOL.md.
//
// Options: library=redsync|redislock, as=shipped. Neither renews anything: a lock without a lease
// is not offered. Both look again every few milliseconds here, where they wait; as shipped redsync
// waits by itself, and redislock as its page shows it.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const nap = 5 * time.Millisecond

var (
	errBusy = errors.New("busy")
	errLost = errors.New("lost")
)

// What is held, and how it is given back: errLost where it was over.
type release func(ctx context.Context) error

// One attempt without waiting, or the library's own waiting: errBusy where somebody else has it.
type library interface {
	try(ctx context.Context, name string, lease time.Duration, waits bool) (release, error)
}

type redsyncLibrary struct{ rs *redsync.Redsync }

func (l redsyncLibrary) try(ctx context.Context, name string, lease time.Duration, waits bool) (release, error) {
	tries := 1
	if waits {
		tries = math.MaxInt32
	}
	m := l.rs.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(tries))
	err := m.LockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		ok, err := m.UnlockContext(ctx)
		if !ok && (err == nil || errors.Is(err, redsync.ErrLockAlreadyExpired)) ||
			errors.As(err, &taken) {
			return errLost
		}
		return err
	}, nil
}

type redislockLibrary struct{ client *redislock.Client }

func (l redislockLibrary) try(ctx context.Context, name string, lease time.Duration, waits bool) (release, error) {
	var options *redislock.Options
	if waits {
		options = &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	}
	lock, err := l.client.Obtain(ctx, name, lease, options)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := lock.Release(ctx)
		if errors.Is(err, redislock.ErrLockNotHeld) {
			return errLost
		}
		return err
	}, nil
}

// A worker: one goroutine, and what it holds by name, the newest last.
type worker struct {
	lib       library
	isShipped bool
	client    redis.UniversalClient
	held      map[string][]release
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
		back, err := w.lib.try(context.Background(), name, time.Duration(ms)*time.Millisecond,
			w.isShipped && wait == "-")
		if err == nil {
			w.held[name] = append(w.held[name], back)
			return "ok"
		}
		if !errors.Is(err, errBusy) {
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
	case errors.Is(err, errLost):
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
	case words[0] == "locked":
		return number(w.client.Exists(context.Background(), words[2]).Result())
	case words[0] == "ttl":
		left, err := w.client.PTTL(context.Background(), words[2]).Result()
		return number(left.Milliseconds(), err)
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

func version(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "?"
}

func connect(address string) (redis.UniversalClient, error) {
	if places, is := strings.CutPrefix(address, "redis+cluster://"); is {
		return redis.NewClusterClient(
			&redis.ClusterOptions{Addrs: strings.Split(places, ",")}), nil
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(options), nil
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

func main() {
	name, isShipped := "redsync", false
	for _, option := range os.Args[2:] {
		if value, is := strings.CutPrefix(option, "library="); is {
			name = value
		}
		isShipped = isShipped || option == "as=shipped"
	}
	addresses := strings.Fields(os.Args[1])
	var pools []redsyncredis.Pool
	var client redis.UniversalClient
	for _, address := range addresses {
		client = connected(address)
		pools = append(pools, goredis.NewPool(client))
	}
	var lib library = redsyncLibrary{redsync.New(pools...)}
	module, kinds := "github.com/go-redsync/redsync/v4", "lock"
	if len(addresses) > 1 {
		kinds = "redlock"
	}
	if name == "redislock" {
		lib, module = redislockLibrary{redislock.New(client)}, "github.com/bsm/redislock"
		if len(addresses) > 1 {
			refuse("redislock has one server")
		}
	}
	fmt.Println("ready", name, version(module), kinds)
	serve(lib, isShipped, client)
}

func refuse(why any) {
	fmt.Println("no", why)
	os.Exit(1)
}

func connected(address string) redis.UniversalClient {
	client, err := connect(address)
	if err != nil {
		refuse(err)
	}
	if err := client.Ping(context.Background()).Err(); err != nil {
		refuse(err)
	}
	return client
}

func serve(lib library, isShipped bool, client redis.UniversalClient) {
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
				w := &worker{lib, isShipped, client, map[string][]release{}}
				for order := range orders {
					answer := w.run(order)
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

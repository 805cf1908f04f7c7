// SPDX-License-Identifier: MIT
// test/peers/go/peer.go - lock libraries of Go behind the line protocol of ../PROTOCOL.md.
//
// Options: library=redsync|redislock|rueidislock, as=shipped. The first two renew nothing: a lock
// without a lease is not offered. They look again every few milliseconds here, where they wait; as
// shipped redsync waits by itself, and redislock as its page shows it. rueidislock: rueidis.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"dibs.test/peers/side"
	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type redsyncLibrary struct{ rs *redsync.Redsync }

func (l redsyncLibrary) Try(ctx context.Context, name string, lease time.Duration, waits bool) (side.Release, error) {
	tries := 1
	if waits {
		tries = math.MaxInt32
	}
	m := l.rs.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(tries))
	err := m.LockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return nil, side.ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		ok, err := m.UnlockContext(ctx)
		if !ok && (err == nil || errors.Is(err, redsync.ErrLockAlreadyExpired)) ||
			errors.As(err, &taken) {
			return side.ErrLost
		}
		return err
	}, nil
}

type redislockLibrary struct{ client *redislock.Client }

func (l redislockLibrary) Try(ctx context.Context, name string, lease time.Duration, waits bool) (side.Release, error) {
	var options *redislock.Options
	if waits {
		options = &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	}
	lock, err := l.client.Obtain(ctx, name, lease, options)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, side.ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := lock.Release(ctx)
		if errors.Is(err, redislock.ErrLockNotHeld) {
			return side.ErrLost
		}
		return err
	}, nil
}

type looker struct{ client redis.UniversalClient }

func (l looker) Locked(name string) (int64, error) {
	return l.client.Exists(context.Background(), name).Result()
}

func (l looker) LeftMs(name string) (int64, error) {
	left, err := l.client.PTTL(context.Background(), name).Result()
	return left.Milliseconds(), err
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
	var lib side.Library = redsyncLibrary{redsync.New(pools...)}
	module, kinds := "github.com/go-redsync/redsync/v4", "lock"
	if len(addresses) > 1 {
		kinds = "redlock"
	}
	if name != "redsync" && len(addresses) > 1 {
		side.Refuse(name + " has one server")
	}
	switch name {
	case "redislock":
		lib, module = redislockLibrary{redislock.New(client)}, "github.com/bsm/redislock"
	case "rueidislock":
		var err error
		if lib, err = newRueidis(addresses[0]); err != nil {
			side.Refuse(err)
		}
		module = "github.com/redis/rueidis"
	}
	fmt.Println("ready", name, side.Version(module), kinds)
	side.Serve(func() (side.Library, error) { return lib, nil }, isShipped, looker{client})
}

func connected(address string) redis.UniversalClient {
	client, err := connect(address)
	if err != nil {
		side.Refuse(err)
	}
	if err := client.Ping(context.Background()).Err(); err != nil {
		side.Refuse(err)
	}
	return client
}

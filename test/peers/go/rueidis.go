// SPDX-License-Identifier: MIT
// test/peers/go/rueidis.go - rueidislock, which renews its leases by itself and waits for
// invalidations of the client-side cache. Its keys are its own: no other library shares them.
package main

import (
	"context"
	"errors"
	"time"

	"dibs.test/peers/side"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

type rueidisLibrary struct{ locker rueidislock.Locker }

// By default it takes two of three keys for each name, for several servers behind one address.
// One key and no notices of its own writes are the fastest that it has for one server. Its limit
// for a reply is 20 ms: a later one fails the attempt, and the caller waits for an invalidation
// that no server sends, for ever. On a busy machine that happens, so the limit is longer here.
func newRueidis(address string) (side.Library, error) {
	options, err := rueidis.ParseURL(address)
	if err != nil {
		return nil, err
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: options, KeyMajority: 1, NoLoopTracking: true,
		TryNextAfter: 5 * time.Second,
	})
	return rueidisLibrary{locker}, err
}

// The lease is of the locker, not of a lock: `lease` is not used.
func (l rueidisLibrary) Try(ctx context.Context, name string, _ time.Duration, waits bool) (side.Release, error) {
	take := l.locker.TryWithContext
	if waits {
		take = l.locker.WithContext
	}
	held, cancel, err := take(ctx, name)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil, side.ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		isOver := held.Err() != nil
		cancel()
		if isOver {
			return side.ErrLost
		}
		return nil
	}, nil
}

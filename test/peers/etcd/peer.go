// SPDX-License-Identifier: MIT
// test/peers/etcd/peer.go - the locks of etcd's own package `concurrency` behind the line protocol
// of ../PROTOCOL.md, and a server for them: only bench/peers_run uses both.
//
//	peer server directory=PATH    an etcd of one member on loopback; its kinds are its address
//	peer http://127.0.0.1:PORT    a client
//
// A lock belongs to a session, which is a lease of etcd that its client renews. So each worker has
// a session, as a process of another program would have.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"dibs.test/peers/side"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	module    = "go.etcd.io/etcd/client/v3"
	leaseSecs = 30
)

type sessionLibrary struct{ session *concurrency.Session }

// The lease is of the session, not of a lock: `lease` is not used.
func (l sessionLibrary) Try(ctx context.Context, name string, _ time.Duration, waits bool) (side.Release, error) {
	m := concurrency.NewMutex(l.session, "/"+name)
	take := m.TryLock
	if waits {
		take = m.Lock
	}
	err := take(ctx)
	if errors.Is(err, concurrency.ErrLocked) {
		return nil, side.ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		select {
		case <-l.session.Done():
			return side.ErrLost
		default:
			return m.Unlock(ctx)
		}
	}, nil
}

func serveLocks(address string, isShipped bool) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{address}, DialTimeout: 10 * time.Second,
	})
	if err != nil {
		side.Refuse(err)
	}
	begin := func() (side.Library, error) {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(leaseSecs))
		return sessionLibrary{session}, err
	}
	if _, err := begin(); err != nil {
		side.Refuse(err)
	}
	fmt.Println("ready etcd", side.Version(module), "lock")
	side.Serve(begin, isShipped, nil)
}

// As shipped, with a synced write-ahead log, and free ports. Ends with its input.
func serveEtcd(directory string) {
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir = directory
	config.LogLevel = "panic"
	config.ListenClientUrls, config.AdvertiseClientUrls = loopback, loopback
	config.ListenPeerUrls, config.AdvertisePeerUrls = loopback, loopback
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		side.Refuse(err)
	}
	<-etcd.Server.ReadyNotify()
	fmt.Println("ready etcd", side.Version("go.etcd.io/etcd/server/v3"),
		"http://"+etcd.Clients[0].Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	etcd.Close()
}

func main() {
	directory, isShipped := "", false
	for _, option := range os.Args[2:] {
		if value, is := strings.CutPrefix(option, "directory="); is {
			directory = value
		}
		isShipped = isShipped || option == "as=shipped"
	}
	if os.Args[1] == "server" {
		serveEtcd(directory)
		return
	}
	serveLocks(os.Args[1], isShipped)
}

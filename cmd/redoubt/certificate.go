package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a key pair in two files that is reloaded when they change, so that a renewal needs
// no restart. If reloading fails, the previous pair stays in use.
type certificate struct {
	certFile, keyFile string
	clock             func() time.Time
	log               *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	stamp   [2]time.Time // modification times of the files
	checked time.Time
}

// checkEvery is the minimum interval between checks of the files.
const checkEvery = time.Second

func loadCertificate(certFile, keyFile string, clock func() time.Time, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, clock: clock, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *certificate) load() error {
	stamp, err := c.stamps()
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("load certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.stamp = &pair, stamp
	return nil
}

func (c *certificate) stamps() (stamp [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = info.ModTime()
	}
	return stamp, nil
}

// get returns the pair for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock(); now.Sub(c.checked) >= checkEvery {
		c.checked = now
		if stamp, err := c.stamps(); err != nil || stamp != c.stamp {
			c.tryLoad()
		}
	}
	return c.pair, nil
}

// reload reloads the files, even if their modification times are unchanged.
func (c *certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tryLoad()
}

func (c *certificate) tryLoad() {
	if err := c.load(); err != nil {
		c.log.Error("the changed certificate is invalid; the previous one stays in use", "error", err)
		return
	}
	c.log.Info("certificate reloaded", "file", c.certFile)
}

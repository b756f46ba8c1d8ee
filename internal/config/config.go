// Package config says how a Redoubt process is set up: one struct for where the
// data is, one for the server, read from flags over environment over a file,
// checked as a whole, and printable with its secrets hidden.
//
// It knows no other package of the project. The flags are parsed by the command
// line library that package main uses; here are only the struct tags it reads.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Secret is a text that never shows itself.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[hidden]"
}

// LogValue hides the secret from structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Storage is where the data is: a folder with one SQLite file, or PostgreSQL.
// Every command takes the same.
type Storage struct {
	Data        string `help:"Folder that holds all data (one SQLite file); redoubt-data by default." default:"redoubt-data" env:"REDOUBT_DATA" placeholder:"DIR" type:"path"`
	DatabaseURL Secret `help:"PostgreSQL to use instead, as postgres://user:password@host/name." env:"REDOUBT_DATABASE_URL" placeholder:"URL"`
}

// Server is all that redoubt serve can be told.
type Server struct {
	Addr        string `help:"Address to listen on; 127.0.0.1:8080 by default." default:"127.0.0.1:8080" env:"REDOUBT_ADDR" placeholder:"HOST:PORT"`
	MetricsAddr string `help:"Serve /metrics here instead of on the main address." env:"REDOUBT_METRICS_ADDR" placeholder:"HOST:PORT"`
	PublicURL   string `help:"How others reach this server; links in answers start with it." env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`

	TLSCert string `help:"Certificate chain (PEM). It is read again when it changes." env:"REDOUBT_TLS_CERT" placeholder:"FILE" type:"path"`
	TLSKey  string `help:"Private key of the certificate (PEM)." env:"REDOUBT_TLS_KEY" placeholder:"FILE" type:"path"`

	TrustedProxy []string `help:"Address or network (CIDR) of a reverse proxy whose X-Forwarded-* headers count." env:"REDOUBT_TRUSTED_PROXY" placeholder:"CIDR"`
	ReadyFile    string   `help:"Write the address, the deployment and its first token here, as JSON, once the server answers." env:"REDOUBT_READY_FILE" placeholder:"FILE" type:"path"`

	MaxUpload       int64         `help:"Largest report accepted, in bytes, before and after inflating; 256 MiB by default." default:"268435456" env:"REDOUBT_MAX_UPLOAD" placeholder:"BYTES"`
	BodyCache       int64         `help:"Memory for finding bodies, in bytes; a quarter of the machine's by default." default:"0" env:"REDOUBT_BODY_CACHE" placeholder:"BYTES"`
	RateLimit       float64       `help:"Requests a second that one token may make; no limit by default." default:"0" env:"REDOUBT_RATE_LIMIT" placeholder:"N"`
	ScanWait        time.Duration `help:"How long the end of a CI scan waits until its results are stored; after that the scanner asks again, every few seconds." default:"10s" env:"REDOUBT_SCAN_WAIT"`
	RefRetention    time.Duration `help:"How long a branch other than the primary one stays without a scan; 0s keeps all." default:"720h" env:"REDOUBT_REF_RETENTION"`
	SessionIdle     time.Duration `help:"How long people stay signed in without doing anything; 12h by default." default:"12h" env:"REDOUBT_SESSION_IDLE"`
	SessionMax      time.Duration `help:"How long people stay signed in at most; 168h by default." default:"168h" env:"REDOUBT_SESSION_MAX"`
	ShutdownTimeout time.Duration `help:"How long a stop waits for requests under way." default:"20s" env:"REDOUBT_SHUTDOWN_TIMEOUT"`
}

// maxScanWait stays below the time that a proxy gives an answer, and the
// scanner, which listens for 300 seconds.
const maxScanWait = time.Minute

// Check names everything that is wrong with the settings, all at once.
func (s Server) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		fault("--addr %q is not HOST:PORT: %w", s.Addr, err)
	}
	if s.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(s.MetricsAddr); err != nil {
			fault("--metrics-addr %q is not HOST:PORT: %w", s.MetricsAddr, err)
		}
	}
	if s.PublicURL != "" {
		if u, err := url.Parse(s.PublicURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			fault("--public-url %q is not an absolute http or https URL", s.PublicURL)
		}
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		fault("--tls-cert and --tls-key go together")
	}
	if _, err := s.Proxies(); err != nil {
		faults = append(faults, err)
	}
	if s.MaxUpload < 1<<20 {
		fault("--max-upload %d is below 1 MiB: no report would fit", s.MaxUpload)
	}
	if s.BodyCache < 0 {
		fault("--body-cache %d is negative", s.BodyCache)
	}
	if s.RefRetention < 0 {
		fault("--ref-retention %s is negative", s.RefRetention)
	}
	if s.ScanWait < 0 || s.ScanWait > maxScanWait {
		fault("--scan-wait %s is not within 0s and %s, when scanners stop listening", s.ScanWait, maxScanWait)
	}
	if s.SessionIdle < 0 || s.SessionMax < 0 {
		fault("--session-idle %s or --session-max %s is negative", s.SessionIdle, s.SessionMax)
	}
	if s.RateLimit < 0 {
		fault("--rate-limit %g is negative", s.RateLimit)
	}
	return errors.Join(faults...)
}

// Proxies returns the networks of the trusted proxies; a single address is a
// network of one.
func (s Server) Proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range s.TrustedProxy {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--trusted-proxy %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// BrowsersUseTLS reports whether browsers reach the server by https, so far as
// the settings tell.
func (s Server) BrowsersUseTLS() bool {
	return s.TLSCert != "" || strings.HasPrefix(s.PublicURL, "https://")
}

// Scheme is https when the server has a certificate.
func (s Server) Scheme() string {
	if s.TLSCert != "" {
		return "https"
	}
	return "http"
}

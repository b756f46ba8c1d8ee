// Package config defines, validates and prints the settings of a Redoubt process. They are read
// from flags, the environment and a file, in this order of precedence. The package imports no other
// package of the project; package main parses the flags by the struct tags.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Secret is a text that is never printed.
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

// DefaultData is the default data directory.
const DefaultData = "redoubt-data"

// Storage is the location of the data: a directory with one SQLite file, or PostgreSQL. It is the
// same for all commands. Optional paths have an explicit empty default, because the parser would
// otherwise replace an empty path by the current directory. A struct that embeds Storage can set
// default_data.
type Storage struct {
	Data        string `help:"Data folder with the SQLite database (default: redoubt-data)." default:"${default_data=redoubt-data}" env:"REDOUBT_DATA" placeholder:"DIR" type:"path"`
	KeyFile     string `help:"Key file of the database (default: redoubt.db.key in the data folder, or postgres.key with PostgreSQL)." default:"" env:"REDOUBT_KEY_FILE" placeholder:"FILE" type:"path"`
	DatabaseURL Secret `help:"PostgreSQL database, such as postgres://user:password@host/name." env:"REDOUBT_DATABASE_URL" placeholder:"URL"`

	DatabaseTimeout time.Duration `help:"Timeout for PostgreSQL responses; 10s by default." default:"10s" env:"REDOUBT_DATABASE_TIMEOUT"`
}

// KeyPath returns the path of the key file of the database.
func (s Storage) KeyPath() string {
	switch {
	case s.KeyFile != "":
		return s.KeyFile
	case s.DatabaseURL != "":
		return filepath.Join(s.Data, "postgres.key")
	}
	return filepath.Join(s.Data, "redoubt.db.key")
}

// IndexPath returns the directory with the index checkpoints.
func (s Storage) IndexPath() string { return filepath.Join(s.Data, "index") }

// Server contains the settings of redoubt serve.
type Server struct {
	Addr        string `help:"Listen address; 127.0.0.1:8080 by default." default:"127.0.0.1:8080" env:"REDOUBT_ADDR" placeholder:"HOST:PORT"`
	MetricsAddr string `help:"Separate listen address for /metrics (default: the main address)." env:"REDOUBT_METRICS_ADDR" placeholder:"HOST:PORT"`
	PublicURL   string `help:"Public address of this server, for links." env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`

	TLSCert string `help:"Certificate chain (PEM); reloaded when it changes." default:"" env:"REDOUBT_TLS_CERT" placeholder:"FILE" type:"path"`
	TLSKey  string `help:"Private key of the certificate (PEM)." default:"" env:"REDOUBT_TLS_KEY" placeholder:"FILE" type:"path"`

	Outbound
	Notifications
	Removed

	TrustedProxy []string `help:"Address or network (CIDR) of a trusted proxy, for X-Forwarded-* headers." env:"REDOUBT_TRUSTED_PROXY" placeholder:"CIDR"`
	ReadyFile    string   `help:"JSON file for address, deployment and token; written when ready." default:"" env:"REDOUBT_READY_FILE" placeholder:"FILE" type:"path"`

	MaxUpload        int64         `help:"Maximum report size in bytes, compressed and decompressed; 256 MiB by default." default:"268435456" env:"REDOUBT_MAX_UPLOAD" placeholder:"BYTES"`
	BodyCache        int64         `help:"Memory for finding bodies in bytes (default: a quarter of the machine's or container's memory)." default:"0" env:"REDOUBT_BODY_CACHE" placeholder:"BYTES"`
	IndexMemory      int64         `help:"Memory for the index in bytes; least recently used deployments are evicted (default: half of the machine's or container's memory)." default:"0" env:"REDOUBT_INDEX_MEMORY" placeholder:"BYTES"`
	RateLimit        float64       `help:"Maximum requests per second and token (default: unlimited)." default:"0" env:"REDOUBT_RATE_LIMIT" placeholder:"N"`
	ScanWait         time.Duration `help:"Maximum wait for stored results after a CI scan; then the scanner polls." default:"10s" env:"REDOUBT_SCAN_WAIT"`
	DatabaseListen   bool          `help:"Listen for other servers' jobs on PostgreSQL." default:"true" negatable:"" env:"REDOUBT_DATABASE_LISTEN"`
	Runner           bool          `help:"Run managed scans in this process." env:"REDOUBT_RUNNER"`
	RunnerParallel   int           `help:"Maximum parallel runs of --runner; one per deployment." default:"2" env:"REDOUBT_RUNNER_PARALLEL" placeholder:"N"`
	Isolation        string        `help:"Scanner sandbox of --runner: required (bubblewrap, or no scans), auto (bubblewrap if it works) or none. Without a sandbox, a compromised scanner can read the server's files." enum:"auto,required,none" default:"required" env:"REDOUBT_RUNNER_ISOLATION"`
	RefRetention     time.Duration `help:"Retention of branches without scans, except the primary branch; 0s disables expiry." default:"720h" env:"REDOUBT_REF_RETENTION"`
	OIDCIssuer       string        `name:"oidc-issuer" help:"Issuer URL of the OpenID Connect provider." env:"REDOUBT_OIDC_ISSUER" placeholder:"URL"`
	OIDCClientID     string        `name:"oidc-client-id" help:"Client id at the OpenID Connect provider." env:"REDOUBT_OIDC_CLIENT_ID" placeholder:"ID"`
	OIDCClientSecret Secret        `name:"oidc-client-secret" help:"Client secret for the provider; empty for a public client." env:"REDOUBT_OIDC_CLIENT_SECRET" placeholder:"SECRET"`
	OIDCTitle        string        `name:"oidc-title" help:"Name of the provider on the sign-in page." default:"single sign-on" env:"REDOUBT_OIDC_TITLE" placeholder:"NAME"`
	OIDCScope        []string      `name:"oidc-scope" help:"Requested scopes in addition to openid." default:"profile,email" env:"REDOUBT_OIDC_SCOPE" placeholder:"SCOPE"`
	OIDCGroupsClaim  string        `name:"oidc-groups-claim" help:"Claim with the groups; dots separate nested members." default:"groups" env:"REDOUBT_OIDC_GROUPS_CLAIM" placeholder:"CLAIM"`
	OIDCRole         []string      `name:"oidc-role" help:"Map a group to a role: GROUP=ROLE or GROUP=DEPLOYMENT:ROLE; * matches all users." env:"REDOUBT_OIDC_ROLE" placeholder:"RULE"`
	OIDCDomain       []string      `name:"oidc-domain" help:"Allow only users with a verified address in this domain." env:"REDOUBT_OIDC_DOMAIN" placeholder:"DOMAIN"`

	AdvisoriesEvery      time.Duration `help:"Interval for loading advisories, EPSS scores and the KEV catalog (default: never)." default:"0s" env:"REDOUBT_ADVISORIES_EVERY"`
	AdvisoriesEcosystems []string      `help:"Ecosystems to load advisories for (default: those of the supported lockfiles)." default:"npm,PyPI,Go,crates.io,RubyGems,Packagist,Maven,NuGet,Pub,SwiftURL,Hex,ConanCenter" env:"REDOUBT_ADVISORIES_ECOSYSTEMS" placeholder:"NAME"`
	AdvisoriesScores     bool          `help:"Also load EPSS scores and the KEV catalog." default:"true" negatable:"" env:"REDOUBT_ADVISORIES_SCORES"`
	AdvisoriesArchives   string        `help:"URL of the OSV archives, with a folder per ecosystem." default:"https://osv-vulnerabilities.storage.googleapis.com" env:"REDOUBT_ADVISORIES_ARCHIVES" placeholder:"URL"`

	SessionIdle     time.Duration `help:"Idle timeout of sessions; 12h by default." default:"12h" env:"REDOUBT_SESSION_IDLE"`
	SessionMax      time.Duration `help:"Maximum duration of sessions; 168h by default." default:"168h" env:"REDOUBT_SESSION_MAX"`
	Drain           time.Duration `help:"Grace period during shutdown: requests are served while /readyz fails; none by default." default:"0s" env:"REDOUBT_DRAIN"`
	ShutdownTimeout time.Duration `help:"Maximum wait for active requests during shutdown." default:"20s" env:"REDOUBT_SHUTDOWN_TIMEOUT"`
}

// maxScanWait is less than the response timeouts of proxies and of the scanner (300 seconds).
const maxScanWait = time.Minute

// maxDrain exceeds the time in which any proxy detects that a server is shutting down.
const maxDrain = 10 * time.Minute

// Check returns all errors in the settings at once.
func (s Server) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		fault("invalid --addr %q: use HOST:PORT: %w", s.Addr, err)
	}
	if s.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(s.MetricsAddr); err != nil {
			fault("invalid --metrics-addr %q: use HOST:PORT: %w", s.MetricsAddr, err)
		}
	}
	if s.PublicURL != "" {
		if u, err := url.Parse(s.PublicURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			fault("invalid --public-url %q: use an absolute http or https URL", s.PublicURL)
		}
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		fault("--tls-cert and --tls-key require each other")
	}
	if s.Runner && (s.RunnerParallel < 1 || s.RunnerParallel > 64) {
		fault("invalid --runner-parallel %d: use 1 to 64", s.RunnerParallel)
	}
	if _, err := s.Proxies(); err != nil {
		faults = append(faults, err)
	}
	if s.MaxUpload < 1<<20 {
		fault("invalid --max-upload %d: use at least 1 MiB (1048576)", s.MaxUpload)
	}
	if s.BodyCache < 0 {
		fault("--body-cache %d is negative", s.BodyCache)
	}
	if s.IndexMemory < 0 {
		fault("--index-memory %d is negative", s.IndexMemory)
	}
	if s.RefRetention < 0 {
		fault("--ref-retention %s is negative", s.RefRetention)
	}
	if s.ScanWait < 0 || s.ScanWait > maxScanWait {
		fault("invalid --scan-wait %s: use 0s to %s, the timeout of scanners", s.ScanWait, maxScanWait)
	}
	if s.Drain < 0 || s.Drain > maxDrain {
		fault("invalid --drain %s: use 0s to %s, the time that a proxy needs to notice", s.Drain, maxDrain)
	}
	faults = append(faults, s.checkOIDC()...)
	faults = append(faults, s.checkNotifications()...)
	faults = append(faults, s.check()...)
	if s.SessionIdle < 0 || s.SessionMax < 0 {
		fault("--session-idle %s or --session-max %s is negative", s.SessionIdle, s.SessionMax)
	}
	if s.RateLimit < 0 {
		fault("--rate-limit %g is negative", s.RateLimit)
	}
	return errors.Join(faults...)
}

// Proxies returns the networks of the trusted proxies. A single address is a network with one
// address.
func (s Server) Proxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range s.TrustedProxy {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("invalid --trusted-proxy %q: use an address or a network such as 10.0.0.0/8", text)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// checkOIDC returns the errors in the settings of the OIDC provider.
func (s Server) checkOIDC() (faults []error) {
	if s.OIDCIssuer == "" {
		if s.OIDCClientID != "" || s.OIDCClientSecret != "" || len(s.OIDCRole) > 0 || len(s.OIDCDomain) > 0 {
			faults = append(faults, errors.New("--oidc- settings require --oidc-issuer"))
		}
		return faults
	}
	if u, err := url.Parse(s.OIDCIssuer); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		faults = append(faults, fmt.Errorf("invalid --oidc-issuer %q: use an absolute http or https URL", s.OIDCIssuer))
	}
	for name, value := range map[string]string{
		"--oidc-client-id": s.OIDCClientID, "--public-url, which the provider redirects to": s.PublicURL,
		"--oidc-groups-claim": s.OIDCGroupsClaim,
	} {
		if value == "" {
			faults = append(faults, fmt.Errorf("--oidc-issuer requires %s", name))
		}
	}
	if len(s.OIDCRole) == 0 {
		faults = append(faults, errors.New("--oidc-issuer requires --oidc-role, because users without a role see nothing: "+
			"use --oidc-role '*=viewer' for read access"))
	}
	return faults
}

// BrowsersUseTLS reports whether browsers reach the server by HTTPS, according to the settings.
func (s Server) BrowsersUseTLS() bool {
	return s.TLSCert != "" || strings.HasPrefix(s.PublicURL, "https://")
}

// Scheme returns https if the server has a certificate, and http otherwise.
func (s Server) Scheme() string {
	if s.TLSCert != "" {
		return "https"
	}
	return "http"
}

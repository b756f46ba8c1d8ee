package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

type cli struct {
	Serve struct {
		Storage
		Server
	} `cmd:""`
}

// parse reads the settings like redoubt serve.
func parse(t *testing.T, file string, args ...string) (cli, error) {
	t.Helper()
	var c cli
	options := []kong.Option{kong.Name("redoubt"), kong.Exit(func(int) {})}
	if file != "" {
		resolver, err := Load(strings.NewReader(file))
		if err != nil {
			return c, err
		}
		options = append(options, kong.Resolvers(resolver))
	}
	parser, err := kong.New(&c, options...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(append([]string{"serve"}, args...))
	return c, err
}

func newParser(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

func TestConfigPrecedence(t *testing.T) {
	file := "addr: file:1\nrate_limit: 7\ntrusted_proxy: [10.0.0.0/8, 127.0.0.1]\n"
	got, err := parse(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Serve.Addr != "file:1" || got.Serve.RateLimit != 7 || len(got.Serve.TrustedProxy) != 2 {
		t.Errorf("the file alone gave %+v", got.Serve.Server)
	}
	t.Setenv("REDOUBT_ADDR", "env:2")
	if got, _ = parse(t, file); got.Serve.Addr != "env:2" {
		t.Errorf("with the environment set, addr = %q, want env:2", got.Serve.Addr)
	}
	if got, _ = parse(t, file, "--addr", "flag:3"); got.Serve.Addr != "flag:3" {
		t.Errorf("with the flag given, addr = %q, want flag:3", got.Serve.Addr)
	}
}

// TestEmptyPathIsUnset sets each optional path to an empty value, like a container template, with
// and without a value in the file.
func TestEmptyPathIsUnset(t *testing.T) {
	for _, env := range []string{"REDOUBT_KEY_FILE", "REDOUBT_TLS_CERT", "REDOUBT_TLS_KEY", "REDOUBT_READY_FILE"} {
		t.Setenv(env, "")
	}
	got, err := parse(t, "")
	if err != nil {
		t.Fatal(err)
	}
	s := got.Serve
	if s.KeyFile != "" || s.TLSCert != "" || s.TLSKey != "" || s.ReadyFile != "" {
		t.Errorf("the paths are %q, %q, %q, %q, want none", s.KeyFile, s.TLSCert, s.TLSKey, s.ReadyFile)
	}
	if want := filepath.Join(s.Data, "redoubt.db.key"); s.KeyPath() != want {
		t.Errorf("the keys are in %q, want %q", s.KeyPath(), want)
	}
	if got, err = parse(t, "key_file: /etc/redoubt/key\n"); err != nil || got.Serve.KeyPath() != "/etc/redoubt/key" {
		t.Errorf("with the file's, the keys are in %q (%v)", got.Serve.KeyPath(), err)
	}
}

func TestUnknownFileKeyIsRejected(t *testing.T) {
	_, err := parse(t, "adr: x:1\n")
	if err == nil || !strings.Contains(err.Error(), "adr") {
		t.Errorf("a misspelt key gave %v, want an error that names it", err)
	}
	if _, err = parse(t, "- a list\n"); err == nil {
		t.Error("a file that is no map was taken")
	}
}

// TestSecretsFromFiles checks that each secret of each command can be read from a file.
func TestSecretsFromFiles(t *testing.T) {
	for _, name := range []string{"REDOUBT_DATABASE_URL", "REDOUBT_OIDC_CLIENT_SECRET", "REDOUBT_SMTP_PASSWORD"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(path, []byte("hunter2\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(name, "") // restored at the end
			os.Unsetenv(name)
			t.Setenv(name+"_FILE", path)
			parser := newParser(t)
			if err := SecretsFromFiles(parser.Model); err != nil || os.Getenv(name) != "hunter2" {
				t.Errorf("the secret is %q (%v)", os.Getenv(name), err)
			}
			if err := SecretsFromFiles(parser.Model); err == nil {
				t.Error("both NAME and NAME_FILE are set, and there is no error")
			}
			os.Unsetenv(name)
			t.Setenv(name+"_FILE", path+".missing")
			if err := SecretsFromFiles(parser.Model); err == nil {
				t.Error("the file is missing, and there is no error")
			}
		})
	}
}

func TestUnknownVariables(t *testing.T) {
	for _, name := range []string{"REDOUBT_ADR", "REDOUBT_ADDR", "REDOUBT_OIDC_ISSUR", "REDOUBT_SMTP_PASSWORD_FILE", "REDOUBT_ADDR_FILE"} {
		t.Setenv(name, "x")
	}
	want := []string{"REDOUBT_ADDR_FILE", "REDOUBT_ADR", "REDOUBT_OIDC_ISSUR"}
	got := slices.DeleteFunc(UnknownVariables(newParser(t).Model), func(name string) bool { return strings.HasPrefix(name, "REDOUBT_TEST_") })
	if !slices.Equal(got, want) {
		t.Errorf("unknown variables are %q, want %q", got, want)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	s := Storage{Data: "d", DatabaseURL: "postgres://u:hunter2@h/d"}
	asJSON, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s), string(asJSON), s.DatabaseURL.LogValue().String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the secret shows in %s", text)
		}
	}
}

func TestCheckReportsEveryError(t *testing.T) {
	good := Server{Addr: "127.0.0.1:0", MaxUpload: 1 << 30}
	if err := good.Check(); err != nil {
		t.Fatalf("sound settings refused: %v", err)
	}
	bad := Server{
		Addr: "nowhere", MetricsAddr: "x", PublicURL: "ftp://x", TLSCert: "a",
		TrustedProxy: []string{"10.0.0.0/99"}, MaxUpload: 1, BodyCache: -1, RateLimit: -1, ScanWait: -1, RefRetention: -1, SessionIdle: -1,
	}
	err := bad.Check()
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"--addr", "--metrics-addr", "--public-url", "--tls-cert", "--trusted-proxy", "--max-upload", "--body-cache", "--rate-limit", "--scan-wait", "--ref-retention", "--session-idle"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is wrong and not named in: %v", want, err)
		}
	}
}

func TestProxiesAcceptAddressesAndNetworks(t *testing.T) {
	got, err := Server{TrustedProxy: []string{"10.0.0.0/8", "::1"}}.Proxies()
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[10.0.0.0/8 ::1/128]" {
		t.Errorf("proxies = %v", got)
	}
}

func TestCheckOIDCSettings(t *testing.T) {
	good := Server{
		Addr: "127.0.0.1:0", MaxUpload: 1 << 30, PublicURL: "https://redoubt.example",
		OIDCIssuer: "https://id.example", OIDCClientID: "redoubt", OIDCGroupsClaim: "groups", OIDCRole: []string{"*=viewer"},
	}
	if err := good.Check(); err != nil {
		t.Errorf("sound settings refused: %v", err)
	}
	for want, change := range map[string]func(*Server){
		"--oidc-client-id":      func(s *Server) { s.OIDCClientID = "" },
		"--public-url":          func(s *Server) { s.PublicURL = "" },
		"--oidc-role":           func(s *Server) { s.OIDCRole = nil },
		"--oidc-issuer":         func(s *Server) { s.OIDCIssuer = "id.example" },
		"require --oidc-issuer": func(s *Server) { s.OIDCIssuer = "" },
		"--oidc-groups-claim":   func(s *Server) { s.OIDCGroupsClaim = "" },
		"--session-max -1ns":    func(s *Server) { s.SessionMax = -1 },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q named, got %v", want, err)
		}
	}
}

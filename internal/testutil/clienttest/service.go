package clienttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// Host is the name of the hosted service that some clients contain.
const Host = "semgrep.dev"

// Service is a proxy between clients and a server that records requests. Clients with a fixed
// address of the hosted service use it through the variables of Env. It forwards connections to
// that address, and no others, to the server.
type Service struct {
	URL string // for clients with a configurable address

	proof  string // file with the CA certificate
	secure string // host and port of the TLS listener for the hosted service

	mu       sync.Mutex
	requests []string
}

// Start starts a service in front of a server. It is closed when the test ends.
func Start(t testing.TB, server string) *Service {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{proof: filepath.Join(t.TempDir(), "ca.pem")}
	front := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		s.note(p.In)
		p.SetURL(to)
	}}
	inner := httptest.NewUnstartedServer(front)
	inner.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t, s.proof)}}
	inner.StartTLS()
	t.Cleanup(inner.Close)
	s.secure = inner.Listener.Addr().String()
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect && r.URL.Hostname() == Host:
			s.tunnel(w, r)
		case r.Method == http.MethodConnect, r.URL.Host != "" && r.URL.Hostname() != Host:
			http.Error(w, "a test may only reach the server that it started", http.StatusForbidden)
		default:
			front.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(outer.Close)
	s.URL = outer.URL
	return s
}

// Env returns environment variables with which a program connects to the service instead of the
// hosted one and trusts its certificate.
func (s *Service) Env() []string {
	return []string{
		"HTTPS_PROXY=" + s.URL, "https_proxy=" + s.URL, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"SSL_CERT_FILE=" + s.proof, "REQUESTS_CA_BUNDLE=" + s.proof, "NODE_EXTRA_CA_CERTS=" + s.proof,
	}
}

// Requests returns the distinct requests so far, sorted, as "GET /api/v1/deployments".
func (s *Service) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.requests)
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *Service) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
}

// tunnel connects a client to the TLS listener.
func (s *Service) tunnel(w http.ResponseWriter, r *http.Request) {
	far, err := new(net.Dialer).DialContext(r.Context(), "tcp", s.secure)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client disconnected
	}
	defer func() { _, _ = near.Close(), far.Close() }() // closing either connection ends both
	if _, err := io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(far, buffered)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// certificate creates a certificate for the hosted service, and writes its CA certificate to a
// file.
func certificate(t testing.TB, proof string) tls.Certificate {
	t.Helper()
	sign := func(of, by *x509.Certificate, key, with *ecdsa.PrivateKey) []byte {
		of.SerialNumber, of.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: of.Subject.CommonName}
		of.NotBefore, of.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, of, by, key.Public(), with)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	rootKey, key := newKey(t), newKey(t)
	root := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "tests"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der := sign(root, root, rootKey, rootKey)
	if err := os.WriteFile(proof, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		Subject: pkix.Name{CommonName: Host}, DNSNames: []string{Host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	return tls.Certificate{Certificate: [][]byte{sign(leaf, signer, key, rootKey)}, PrivateKey: key}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

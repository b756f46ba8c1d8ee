package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writeCertificate creates a self-signed pair with the given serial number.
func writeCertificate(t *testing.T, dir string, serial int64, stamp time.Time) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func serial(t *testing.T, c *certificate) int64 {
	t.Helper()
	pair, err := c.get(nil)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf.SerialNumber.Int64()
}

func TestCertificateIsReloaded(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	certFile, keyFile := writeCertificate(t, dir, 1, now)
	c, err := loadCertificate(certFile, keyFile, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if got := serial(t, c); got != 1 {
		t.Fatalf("serial %d, want 1", got)
	}

	writeCertificate(t, dir, 2, now.Add(time.Minute))
	now = now.Add(checkEvery)
	if got := serial(t, c); got != 2 {
		t.Errorf("after a renewal the serial is %d, want 2", got)
	}

	if err := os.WriteFile(certFile, []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(checkEvery)
	if got := serial(t, c); got != 2 {
		t.Errorf("with a broken file the serial is %d, want the 2 from before", got)
	}
	writeCertificate(t, dir, 3, now.Add(2*time.Minute))
	now = now.Add(checkEvery)
	if got := serial(t, c); got != 3 {
		t.Errorf("after the repair the serial is %d, want 3", got)
	}
}

func TestMissingCertificateFailsStart(t *testing.T) {
	if _, err := loadCertificate("no.pem", "no.key", time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a server would start without its certificate")
	}
}

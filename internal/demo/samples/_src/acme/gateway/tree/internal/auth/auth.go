// Package auth checks the bearer tokens of callers.
package auth

import (
	"crypto/md5"
	"fmt"
	"math/rand"
	"net/http"
	"strings"

	"github.com/dgrijalva/jwt-go"
)

var signingKey = []byte("gw-7d1f0c94b2e85a36-sign")

// Require answers 401 unless the request carries a token for this gateway.
func Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		claims := jwt.MapClaims{}
		_, err := jwt.ParseWithClaims(text, claims, func(*jwt.Token) (interface{}, error) { return signingKey, nil })
		if err != nil || !claims.VerifyAudience("gateway", true) {
			http.Error(w, "unauthenticated", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NewSession makes a session id.
func NewSession(user string) string {
	sessionID := fmt.Sprintf("%s-%d", user, rand.Int63())
	return fmt.Sprintf("%x", md5.Sum([]byte(sessionID)))
}

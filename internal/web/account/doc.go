// Package account has the pages about people: sign-in, second factors, invitations, users, tokens, programs that ask
// for access, and the audit log.
package account

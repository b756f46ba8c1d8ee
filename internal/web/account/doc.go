// Package account serves the pages about people: sign-in, second factors, invitations, users,
// tokens, access requests of applications, and the audit log.
package account

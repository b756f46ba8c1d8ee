// Package projects implements the operations on projects, their refs and the deployment of the
// token.
package projects

// Package redoubt holds the nouns of the platform.
package redoubt

package config

import (
	"errors"
	"net/mail"
	"net/netip"
)

// Notifications contains the settings of notifications.
type Notifications struct {
	NotifyTo     []string `help:"Allowed networks of notification receivers: public, private, loopback, or a network (CIDR)." default:"public" env:"REDOUBT_NOTIFY_TO" placeholder:"NETWORK"`
	SMTPHost     string   `name:"smtp-host" help:"Mail server; without it no mail is sent." env:"REDOUBT_SMTP_HOST" placeholder:"HOST"`
	SMTPPort     int      `name:"smtp-port" help:"Port of the mail server; 587 by default." default:"587" env:"REDOUBT_SMTP_PORT" placeholder:"PORT"`
	SMTPUser     string   `name:"smtp-user" help:"User name at the mail server." env:"REDOUBT_SMTP_USER" placeholder:"NAME"`
	SMTPPassword Secret   `name:"smtp-password" help:"Password of that user." env:"REDOUBT_SMTP_PASSWORD" placeholder:"PASSWORD"`
	SMTPFrom     string   `name:"smtp-from" help:"Sender address of mail, such as redoubt@example.com." env:"REDOUBT_SMTP_FROM" placeholder:"ADDRESS"`
	SMTPTLS      string   `name:"smtp-tls" help:"Encryption of mail connections: starttls, tls or none." enum:"starttls,tls,none" default:"starttls" env:"REDOUBT_SMTP_TLS"`
}

// NotifyFlag is the flag that allows further addresses of receivers.
const NotifyFlag = "--notify-to"

// NotifyNetworks is Networks for the receivers of notifications.
func (n Notifications) NotifyNetworks() (private bool, also []netip.Prefix, err error) {
	return networks(NotifyFlag, n.NotifyTo)
}

// checkNotifications returns the errors in the settings.
func (n Notifications) checkNotifications() (faults []error) {
	if _, _, err := n.NotifyNetworks(); err != nil {
		faults = append(faults, err)
	}
	if (n.SMTPHost == "") != (n.SMTPFrom == "") {
		faults = append(faults, errors.New("--smtp-host and --smtp-from require each other"))
	}
	if _, err := mail.ParseAddress(n.SMTPFrom); n.SMTPFrom != "" && err != nil {
		faults = append(faults, errors.New("--smtp-from is not an e-mail address such as redoubt@example.com"))
	}
	if n.SMTPUser != "" && n.SMTPTLS == "none" {
		faults = append(faults, errors.New("--smtp-tls none would send the password unencrypted: use starttls or tls"))
	}
	if n.SMTPPort < 0 || n.SMTPPort > 65535 {
		faults = append(faults, errors.New("--smtp-port is not a valid port"))
	}
	return faults
}

resource "aws_db_instance" "ledger" {
  identifier          = "ledger"
  engine              = "postgres"
  instance_class      = "db.t3.medium"
  allocated_storage   = 50
  username            = "ledger"
  password            = "n0t-4-real-Passw0rd-71c9"
  storage_encrypted   = false
  publicly_accessible = true
  skip_final_snapshot = true
}

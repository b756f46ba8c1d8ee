def shell(name)
  # ruleid: redoubt-ruby-shell-command
  system("ls #{name}")
  # ruleid: redoubt-ruby-shell-command
  `ls #{name}`
  # ok: redoubt-ruby-shell-command
  system("date")
  # ok: redoubt-ruby-shell-command
  system("ls", name)
end

def load(data)
  # ruleid: redoubt-ruby-unsafe-deserialization
  Marshal.load(data)
  # ruleid: redoubt-ruby-unsafe-deserialization
  YAML.unsafe_load(data)
  # ok: redoubt-ruby-unsafe-deserialization
  YAML.safe_load(data)
  # ok: redoubt-ruby-unsafe-deserialization
  JSON.parse(data)
end

def find(name)
  # ruleid: redoubt-ruby-sql-from-text
  User.where("name = '#{name}'")
  # ruleid: redoubt-ruby-sql-from-text
  User.order("name " + name)
  # ok: redoubt-ruby-sql-from-text
  User.where("name = ?", name)
  # ok: redoubt-ruby-sql-from-text
  User.where(name: name)
end

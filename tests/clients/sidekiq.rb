# Background jobs with Sidekiq: ruby sidekiq.rb PORT. Exits with status 0 and "tour complete" if all jobs ran as expected.
require "sidekiq"
require "sidekiq/api"
require "sidekiq/launcher"

# redis-rb 4.8 prints warnings about calls of Sidekiq 6.4.
Redis.silence_deprecations = true
Sidekiq.logger.level = Logger::FATAL
Sidekiq.redis = { url: "redis://127.0.0.1:#{ARGV[0]}/3", size: 15, network_timeout: 60 }
Sidekiq.redis(&:flushall)

def assert(condition, what)
  raise what unless condition
end

def eventually(what)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 90
  until yield
    raise "never: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    sleep 0.02
  end
end

def counter(name) = Sidekiq.redis { |r| r.get(name) }.to_i

class Count
  include Sidekiq::Worker

  def perform(name, by)
    Sidekiq.redis { |r| r.incrby(name, by) }
  end
end

class Urgent < Count
  sidekiq_options queue: "critical"
end

class Flaky
  include Sidekiq::Worker
  sidekiq_options retry: 5

  def perform
    raise "not yet" if Sidekiq.redis { |r| r.incr("attempts") } < 3
    Sidekiq.redis { |r| r.set("flaky", "1") }
  end
end

class Hopeless
  include Sidekiq::Worker
  sidekiq_options retry: 0

  def perform = raise("never")
end

# Queued jobs can be listed and removed.
Count.perform_async("seen", 1)
Sidekiq::Client.push_bulk("class" => Urgent, "args" => Array.new(100) { ["bulk", 2] })
assert Sidekiq::Queue.new.size == 1 && Sidekiq::Queue.new("critical").size == 100, "jobs are queued"
assert Sidekiq::Queue.all.map(&:name).sort == %w[critical default], "queues are known"
assert Sidekiq::Queue.new.first.args == ["seen", 1], "a job can be read"
Sidekiq::Queue.new.first.delete
assert Sidekiq::Queue.new.size.zero?, "a job can be taken back"

launcher = Sidekiq::Launcher.new(Sidekiq.options.merge(queues: %w[critical default], concurrency: 5, timeout: 10, poll_interval_average: 0.1))
Sidekiq.options[:poll_interval_average] = 0.1
launcher.run

50.times { Count.perform_async("plain", 3) }
eventually("all jobs are done") { counter("bulk") == 200 && counter("plain") == 150 }

# Scheduled jobs are in a sorted set. A script takes the jobs that are due.
scheduled = Process.clock_gettime(Process::CLOCK_MONOTONIC)
Count.perform_in(0.5, "later", 1)
far = Count.perform_in(3600, "later", 100)
eventually("a scheduled job is done") { counter("later") == 1 }
assert Process.clock_gettime(Process::CLOCK_MONOTONIC) - scheduled >= 0.4, "a scheduled job waits"
assert Sidekiq::ScheduledSet.new.find_job(far).delete && Sidekiq::ScheduledSet.new.size.zero?, "a scheduled job can be taken back"

# A failed job is retried or moved to the dead jobs.
Flaky.perform_async
2.times do |failures|
  eventually("a failed job waits for its retry") { counter("attempts") == failures + 1 && Sidekiq::RetrySet.new.size == 1 }
  Sidekiq::RetrySet.new.first.retry
end
eventually("a job is tried until it succeeds") { counter("flaky") == 1 }
Hopeless.perform_async
eventually("a hopeless job is dead") { Sidekiq::DeadSet.new.size == 1 }

eventually("statistics are kept") { Sidekiq::Stats.new.tap(&:fetch_stats!).processed >= 155 }
eventually("the process is known") { Sidekiq::ProcessSet.new.size == 1 }
launcher.stop
assert Sidekiq::Queue.all.sum(&:size).zero? && Sidekiq::RetrySet.new.size.zero?, "nothing is left"
puts "tour complete"
